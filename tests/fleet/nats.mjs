// A client of NATS, as small as the tests need: requests, and the messages of a stream.
import net from 'node:net';

export class Nats {
  static async connect(host, port) {
    const client = new Nats();
    client.socket = net.connect({ host, port });
    client.pending = new Map();
    client.last = 0;
    client.inbox = `_INBOX.test${Math.random().toString(36).slice(2)}`;
    client.buffer = Buffer.alloc(0);
    await new Promise((resolve, reject) => {
      client.socket.once('connect', resolve);
      client.socket.once('error', reject);
    });
    client.socket.on('data', (data) => client.receive(data));
    client.socket.on('error', () => {});
    client.socket.write('CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\n');
    client.socket.write(`SUB ${client.inbox}.* 1\r\n`);
    return client;
  }

  receive(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const end = this.buffer.indexOf('\r\n');
      if (end < 0) return;
      const words = this.buffer.toString('latin1', 0, end).split(' ');
      if (words[0] !== 'MSG' && words[0] !== 'HMSG') {
        if (words[0] === 'PING') this.socket.write('PONG\r\n');
        this.buffer = this.buffer.subarray(end + 2);
        continue;
      }
      const size = Number(words.at(-1));
      if (this.buffer.length < end + 2 + size + 2) return;
      const skip = words[0] === 'HMSG' ? Number(words.at(-2)) : 0;
      const body = this.buffer.toString('utf8', end + 2 + skip, end + 2 + size);
      this.buffer = this.buffer.subarray(end + 2 + size + 2);
      const id = words[1].split('.').at(-1);
      this.pending.get(id)?.(body);
      this.pending.delete(id);
    }
  }

  async request(subject, body, milliseconds = 5000) {
    const id = String(++this.last);
    const answer = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer: ${subject}`)), milliseconds);
      this.pending.set(id, (text) => {
        clearTimeout(timer);
        resolve(text);
      });
    });
    const bytes = Buffer.from(body);
    this.socket.write(`PUB ${subject} ${this.inbox}.${id} ${bytes.length}\r\n`);
    this.socket.write(bytes);
    this.socket.write('\r\n');
    return answer;
  }

  // All messages under the subject, in order: {seq, id, text}.
  async messages(stream, subject) {
    const all = [];
    for (let seq = 1; ; ) {
      const ask = JSON.stringify({ seq, next_by_subj: subject });
      const answer = JSON.parse(await this.request(`$JS.API.STREAM.MSG.GET.${stream}`, ask));
      if (answer.error?.err_code === 10037) return all;
      if (answer.error) throw new Error(JSON.stringify(answer.error));
      const headers = Buffer.from(answer.message.hdrs ?? '', 'base64').toString();
      all.push({
        seq: answer.message.seq,
        id: /Nats-Msg-Id: (.*)\r\n/.exec(headers)?.[1],
        text: Buffer.from(answer.message.data ?? '', 'base64').toString(),
      });
      seq = answer.message.seq + 1;
    }
  }

  close() {
    this.socket.destroy();
  }
}

// The records of a workspace's journal: {claim} or what was recorded, in order.
export async function readJournal(nats, workspace) {
  const records = [];
  let line = '';
  for (const message of await nats.messages('CADRE', `cadre.journal.${workspace}`)) {
    if (message.text.startsWith('\n{"claim":')) line = '';
    const parts = (line + message.text).split('\n');
    line = parts.pop();
    records.push(...parts.filter((part) => part).map((part) => JSON.parse(part)));
  }
  return records;
}
