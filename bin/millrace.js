#!/usr/bin/env node
// Plain old syntax on purpose: an old Node must be able to read this far and say one clear sentence (D2).
var major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    'millrace needs Node.js 24 or newer, and this is ' +
      process.version +
      ': install a newer Node, or run it through npm in a clone ("npm start", "npx millrace"), which brings its own.\n',
  );
  process.exit(78);
}
// Syncs of the journal, of session files and look-ups share libuv's threads; four are too few, and the pool is made at its first use.
process.env.UV_THREADPOOL_SIZE = process.env.UV_THREADPOOL_SIZE || '16';
// In a checkout the sources run as they are; a package carries dist, because Node strips no types below node_modules.
var home = new URL('../', import.meta.url);
Promise.all([import('node:fs'), import('node:module'), import('node:url')])
  .then(function (loaded) {
    var isCheckout = loaded[0].existsSync(new URL('src/cli/index.ts', home));
    if (isCheckout) keepCompiled(loaded[1], loaded[2]);
    return import(new URL(isCheckout ? 'src/cli/index.ts' : 'dist/src/cli/index.js', home).href);
  })
  .then(function (cli) {
    return cli.main(process.argv.slice(2));
  })
  .then(function (code) {
    process.exitCode = code;
  })
  .catch(function (error) {
    process.stderr.write(
      'millrace: a bug: ' + (error && error.stack ? error.stack : String(error)) + '\n',
    );
    process.exit(70);
  });

// Stripping the types of 250 files costs 0.8 s of a start, reading them stripped and compiled 0.3 s; of each worker thread 0.4 s and 0.1 s, and
// they look for the folder in the environment alone. Written at exit, and for a daemon that is killed soon after its start.
function keepCompiled(nodeModule, nodeUrl) {
  var folder =
    process.env.NODE_COMPILE_CACHE ||
    nodeUrl.fileURLToPath(new URL('node_modules/.cache/millrace-compiled', home));
  process.env.NODE_COMPILE_CACHE = folder;
  nodeModule.enableCompileCache(folder);
  setTimeout(function () {
    nodeModule.flushCompileCache();
  }, 3000).unref();
}
