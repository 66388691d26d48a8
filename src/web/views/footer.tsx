/** Attribution of the chart, and the way to the documents of the API. */

export function Footer() {
  return (
    <footer>
      Charts by{' '}
      <a href="https://www.tradingview.com/" rel="noreferrer">
        TradingView Lightweight Charts
      </a>
    </footer>
  );
}
