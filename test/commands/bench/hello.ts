/** Express' hello world: the reference of the HTTP bench. */

import express from 'express';

express()
  .get('/', (_request, response) => {
    response.json({ hello: 'world' });
  })
  .listen(Number(process.argv[2]));
