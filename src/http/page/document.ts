/** Writes the HTML document of the trading page: its title, its one setting, and the URLs of its bundle. */

import { escapedHtml } from '../html.ts';
import type { Bundle } from './bundle.ts';

interface DocumentParts {
  readonly bundle: Pick<Bundle, 'script' | 'style'>;
  /** Shown in the title. */
  readonly serviceName: string;
  /** True if the page offers the demo wallet and its test funds. `src/web/state/settings.ts` reads it. */
  readonly demo: boolean;
  /** Relative URL of the folder with the API, the streams and the bundle: empty, or `../`. */
  readonly root: string;
}

const ICON = encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#b3122b"/>' +
    '<path d="M5 3h6v10l-3-2-3 2z" fill="#fff"/></svg>',
);

/** URLs are relative, so that the page also works under a path prefix of a proxy. */
export function pageDocument({ bundle, serviceName, demo, root }: DocumentParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="redbook-demo" content="${demo}">
<title>${escapedHtml(serviceName)}</title>
<link rel="icon" href="data:image/svg+xml,${ICON}">
<link rel="stylesheet" href="${root}${bundle.style}">
<script type="module" src="${root}${bundle.script}"></script>
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. The <a href="${root}docs">description of the API</a> shows how to trade without it.</noscript>
</body>
</html>
`;
}
