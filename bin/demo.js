#!/usr/bin/env node
// Runs in a checkout only: it posts the recorded sessions of test/data.
import('../src/cli/commands/demo.ts')
  .then(function (module) {
    return module.demo();
  })
  .catch(function (error) {
    process.stderr.write('demo: ' + (error && error.stack ? error.stack : String(error)) + '\n');
    process.exit(1);
  });
