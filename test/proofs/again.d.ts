/** With the query, Node loads a file again that it has already loaded. */
declare module '*.test.ts?on=cluster';
