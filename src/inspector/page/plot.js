// Memory over time: head, snapshots and frozen errors, stacked.
import { bytes, h, svg } from './dom.js';

const LAYERS = ['head_kb', 'snapshots_kb', 'frozen_kb'];
const WIDTH = 600;

// A step in memory is a step in the plot: between two samples nothing is known.
function area(samples, x, y, upTo) {
  const sum = (sample, count) =>
    LAYERS.slice(0, count).reduce((total, layer) => total + sample[layer], 0);
  const top = samples.map((sample) => [x(sample.at), y(sum(sample, upTo))]);
  const bottom = samples.map((sample) => [x(sample.at), y(sum(sample, upTo - 1))]).reverse();
  const points = [...top, ...bottom].map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`);
  return `M${points.join('L')}Z`;
}

export function memoryPlot(samples, { height, caption }) {
  if (samples.length === 0)
    return caption ? h('p.dim', 'Memory is sampled while this page is open.') : h('div.no-plot');
  const now = Date.now();
  const shown = [...samples, { ...samples[samples.length - 1], at: now }];
  const start = Math.min(shown[0].at, now - 30000);
  const total = (sample) => LAYERS.reduce((sum, layer) => sum + sample[layer], 0);
  const most = Math.max(...shown.map(total), 1024) * 1.15;
  const x = (at) => ((at - start) / (now - start || 1)) * WIDTH;
  const y = (kb) => height - (kb / most) * height;
  const picture = svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: 'none', class: 'plot', role: 'img' },
    svg('title', {}, 'memory over time'),
    ...LAYERS.map((layer, index) =>
      svg('path', { d: area(shown, x, y, index + 1), class: `layer-${layer.slice(0, -3)}` }),
    ),
  );
  picture.style.height = `${height}px`;
  if (!caption) return picture;
  const last = shown[shown.length - 1];
  const names = ['head', 'snapshots', 'frozen errors'];
  const legend = LAYERS.map((layer, index) =>
    h(
      'span.legend',
      h(`span.swatch.layer-${layer.slice(0, -3)}`),
      `${names[index]} `,
      h('b', bytes(last[layer] * 1024) || '0'),
    ),
  );
  const minutes = Math.max(1, Math.round((now - start) / 60000));
  return h(
    'figure.memory',
    picture,
    h(
      'figcaption',
      legend,
      h('span.legend.span', minutes === 1 ? 'last minute' : `last ${minutes} minutes`),
    ),
  );
}
