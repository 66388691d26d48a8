/** SQL that links each stored result of a reconcile to the one before it. */

/** SQL of the text of a row. No function of the database is used, and no text that depends on a setting. */
export const RECONCILIATION = `concat_ws('/', id, extract(epoch from finished_at), sequence, checks, differences,
    failed_checks, results)`;

/** SQL of the link of a row that follows `link_before`. */
export const RECONCILIATION_LINK = `sha256(coalesce(link_before, '') || convert_to(${RECONCILIATION}, 'UTF8'))`;
