/** The same HTTP server without a log: Fastify takes the body as bytes, parses it and answers 202. The denominator of the ingest ratios. */
import Fastify from 'fastify';

const server = Fastify({ bodyLimit: 64 * 1024 * 1024 });
server.removeAllContentTypeParsers();
server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
  done(null, body);
});

server.post('/v1/events', (request, reply) => {
  const text = (request.body as Buffer).toString('utf8');
  const results: unknown[] = [];
  for (const line of text.split('\n')) {
    const event = JSON.parse(line) as { data: { session_id: string } };
    results.push({ session_id: event.data.session_id, status: 'queued' });
  }
  void reply
    .code(202)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(results.length === 1 ? results[0] : { results }));
});

await server.listen({ port: 0, host: '127.0.0.1' });
const address = server.server.address();
process.stdout.write(
  `${JSON.stringify({ port: typeof address === 'object' ? address?.port : 0 })}\n`,
);
process.on('SIGTERM', () => {
  process.exit(0);
});
