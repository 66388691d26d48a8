/** Settings from the document of the page: one `<meta>` for each. */

const metaOf = (name: string): string | null =>
  document.querySelector<HTMLMetaElement>(`meta[name="redbook-${name}"]`)?.content || null;

/** The service offers a throw-away wallet and test funds. */
export const demoOffered: boolean = metaOf('demo') === 'true';

/** Address below which the streams are served, such as `wss://redbook.example`; null: where the page is. */
export const streamUrl: string | null = metaOf('stream');
