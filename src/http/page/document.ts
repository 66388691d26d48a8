/** Writes the HTML documents of the trading page and of the desk: titles, settings, and URLs of the bundle. */

import { escapedHtml } from '../html.ts';
import type { Bundle } from './bundle.ts';

interface DocumentParts {
  readonly bundle: Omit<Bundle, 'files' | 'desk'>;
  /** Shown in the title. */
  readonly serviceName: string;
  /** True if the page offers the demo wallet and its test funds. `src/web/state/connection.ts` reads it. */
  readonly demo: boolean;
  /** Relative URL of the folder with the API, the streams and the bundle: empty, or `../`. */
  readonly root: string;
}

/**
 * URLs are relative, so that the page also works under a path prefix of a proxy. Figures run from left to right, also in a
 * document that a translation turns.
 */
export function pageDocument({ bundle, serviceName, demo, root }: DocumentParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="redbook-demo" content="${demo}">
<title>${escapedHtml(serviceName)}</title>
<meta name="theme-color" content="#b3122b">
<link rel="icon" href="${root}${bundle.icon}" type="image/svg+xml">
<link rel="manifest" href="${root}${bundle.webManifest}">
<link rel="stylesheet" href="${root}${bundle.style}">
<script type="module" src="${root}${bundle.script}"></script>
</head>
<body>
<div id="page" dir="ltr"></div>
<noscript>This page needs JavaScript. The <a href="${root}docs">description of the API</a> shows how to trade without it.</noscript>
</body>
</html>
`;
}

/** Writes the document of the desk. */
export const deskDocument = ({ icon, desk }: Bundle, serviceName: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Desk of ${escapedHtml(serviceName)}</title>
<link rel="icon" href="${icon}" type="image/svg+xml">
<link rel="stylesheet" href="${desk.style}">
<script type="module" src="${desk.script}"></script>
</head>
<body>
<div id="page" dir="ltr"></div>
<noscript>The desk needs JavaScript.</noscript>
</body>
</html>
`;
