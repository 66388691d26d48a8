/** The query makes Node load a file again that it has loaded before. */
declare module '*.test.ts?on=cluster';
