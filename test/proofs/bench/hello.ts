/** Express' hello world, and a request that it holds: the references of the benches. */

import express from 'express';

let waiting = 0;

express()
  .get('/', (_request, response) => {
    response.json({ hello: 'world' });
  })
  .get('/wait', (request) => {
    waiting += 1;
    request.once('close', () => {
      waiting -= 1;
    });
  })
  .get('/waiting', (_request, response) => {
    response.json(waiting);
  })
  .listen(Number(process.argv[2]));
