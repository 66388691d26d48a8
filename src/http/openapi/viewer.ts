/** Serves the page at `/docs`: a packaged viewer of the OpenAPI document. All its files come from this service. */

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Response } from 'express';
import { escapedHtml } from '../html.ts';
import type { Reply } from '../replies/reply.ts';
import { replaceHeader } from '../response/index.ts';
import type { OpenRoute } from '../route.ts';

type Handle = OpenRoute['handle'];

/**
 * Content Security Policy of the viewer. The viewer fetches the document, uses images inside its style sheet, and calls
 * only routes of this service. `require-trusted-types-for` is left out, because the viewer then renders nothing: its
 * Markdown reader and its sanitizer write strings to `innerHTML`. The document it shows is the service's own.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join(';');

export function allowViewer(_request: unknown, response: Response): void {
  replaceHeader(response, 'Content-Security-Policy', POLICY);
}

/** Cache-Control of files whose path changes with their content. */
const FOR_GOOD = 'public, max-age=31536000, immutable';

const packages = createRequire(import.meta.url);
const packaged = (file: string): string => packages.resolve(`swagger-ui-dist/${file}`);

const { version } = JSON.parse(readFileSync(packaged('package.json'), 'utf8')) as { version: string };
const STYLE = `docs/${version}/swagger-ui.css`;
const SCRIPT = `docs/${version}/swagger-ui-bundle.js`;
const START = 'docs/start.js';

/** URLs are relative, so that the page also works under a path prefix of a proxy. */
const page = (title: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${STYLE}">
</head>
<body>
<div id="viewer"></div>
<noscript>The page needs a script; the documents are <a href="v1/openapi.json">OpenAPI</a> and <a href="v1/asyncapi.json">AsyncAPI</a>.</noscript>
<script src="${SCRIPT}"></script>
<script src="${START}"></script>
</body>
</html>
`;

/** The default validator is switched off, because it is on another host. */
const START_SCRIPT = `SwaggerUIBundle({
  url: 'v1/openapi.json',
  dom_id: '#viewer',
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
`;

const textOf = (contentType: string, text: string): Reply => ({
  status: 200,
  contentType: `${contentType}; charset=utf-8`,
  text,
  isPublic: true,
});

/** Serves a file of the package, which is read at the first request, and again after a failure. */
function packagedFile(file: string, contentType: string): Handle {
  let reply: Promise<Reply> | undefined;
  return () => {
    reply ??= readFile(packaged(file), 'utf8').then(
      (text) => ({ ...textOf(contentType, text), cacheControl: FOR_GOOD }),
      (error) => {
        reply = undefined;
        throw error;
      },
    );
    return reply;
  };
}

function fixedText(contentType: string, text: string): Handle {
  const reply = textOf(contentType, text);
  return async () => reply;
}

export const VIEWER_PATH = '/docs';

export const viewerRoutes = (serviceName: string): [path: string, handle: Handle][] => [
  [VIEWER_PATH, fixedText('text/html', page(`${escapedHtml(serviceName)} API`))],
  [`/${START}`, fixedText('text/javascript', START_SCRIPT)],
  [`/${STYLE}`, packagedFile('swagger-ui.css', 'text/css')],
  [`/${SCRIPT}`, packagedFile('swagger-ui-bundle.js', 'text/javascript')],
];
