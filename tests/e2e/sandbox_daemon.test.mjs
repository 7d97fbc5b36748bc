// What a session without a sandbox reaches of the daemon that has started it: nothing. It may open its socket,
// and is refused there, whichever of its processes has connected.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { Machine } from './daemon_support.mjs';

const hasPerl = spawnSync('perl', ['-e', '1']).status === 0;

// Greets the daemon a hundred times; HOW: "itself", or by a socket that a child has connected, which ends before
// the daemon can look at it.
const GREETER = `use Socket;
my ($path, $how) = @ARGV;
$SIG{PIPE} = 'IGNORE';
my $greeting = '{"cadre":1,"version":"0.1.0","kind":"control","client":"test","request":{"op":"replace"}}';
for (1 .. 100) {
  socket(my $socket, AF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
  if ($how eq 'itself') {
    connect($socket, pack_sockaddr_un($path)) or die "connect: $!";
  } else {
    my $child = fork();
    if (!$child) { connect($socket, pack_sockaddr_un($path)); kill 'KILL', $$; }
    waitpid($child, 0);
  }
  syswrite($socket, "$greeting\\n");
  if (sysread($socket, my $answer, 1000)) { print "reached: $answer"; exit; }
}
print "refused";
`;

describe('the socket of the daemon', { skip: !hasPerl && 'no perl' }, () => {
  const machine = new Machine();
  after(() => machine.stop());
  const greeter = path.join(machine.workspace, 'greeter.pl');
  writeFileSync(greeter, GREETER);

  for (const how of ['itself', 'child'])
    it(`refuses a session that connects: ${how}`, async () => {
      const client = await machine.client({ args: ['--sandbox', 'off'] });
      const { socket } = machine.lockFile();
      const said = await client.evaluate(
        `(sb-ext:run-program "perl" '(${[greeter, socket, how].map((each) => JSON.stringify(each)).join(' ')})
           :search t :output *standard-output* :error *standard-output*)`,
      );
      assert.match(said, /refused/);
      await client.close();
    });
});
