/** Letters of a symbol that have room in one line everywhere. */
const SHORT = 12;

/** Writes the symbol of a market. A long one that needs two lines breaks after the slash. */
export function MarketName({ symbol }: { symbol: string }) {
  const [base, quote] = symbol.split('/');
  if (symbol.length <= SHORT) return <>{symbol}</>;
  return (
    <>
      {base}/<wbr />
      {quote}
    </>
  );
}
