// QuickJS in WebAssembly, as quickjs-emscripten offers it to embed: the peer of that name (peers.mjs).
//   quickjs.mjs first BODY | warm BODY RUNS | embedded
import { readFileSync } from 'node:fs';
import { getQuickJS } from 'quickjs-emscripten';

const [mode, body, runs] = process.argv.slice(2);
const quickjs = await getQuickJS();

function evaluate(context, source) {
  return context.unwrapResult(context.evalCode(source)).consume((handle) => context.dump(handle));
}

function newContextWithFiles() {
  const context = quickjs.newContext();
  context
    .newFunction('readText', (file) =>
      context.newString(readFileSync(context.getString(file), 'utf8')),
    )
    .consume((handle) => context.setProp(context.global, 'readText', handle));
  return context;
}

function runEmbedded(size) {
  const start = performance.now();
  let value;
  for (let i = 0; i < size; i++) {
    const context = quickjs.newContext();
    value = evaluate(context, '1 + 2');
    context.dispose();
  }
  console.log(value, (performance.now() - start) / size);
}

if (mode === 'embedded') {
  runEmbedded(1);
  for (let i = 0; i < 20; i++) runEmbedded(50);
} else {
  const context = newContextWithFiles();
  const source = `(() => { ${body} })()`;
  if (mode === 'first') {
    console.log(evaluate(context, source));
  } else {
    for (let i = 0; i < Number(runs); i++) {
      const start = performance.now();
      const value = evaluate(context, source);
      console.log(value, performance.now() - start);
    }
  }
  context.dispose();
}
