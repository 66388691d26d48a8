/** Starts the trading page: reads the settings of the document and draws the page into it. */

import { render } from 'preact';
import { App } from './app.tsx';
import { startAccount } from './state/account.ts';
import { startCandles } from './state/candles.ts';
import { startClock } from './state/clock.ts';
import { startDocumentTitle } from './state/document-title.ts';
import { startFirstChart } from './state/first-chart.ts';
import { startKeptDrafts } from './state/kept-drafts.ts';
import { startLeaving } from './state/leaving.ts';
import { startMarketFeed } from './state/market-feed.ts';
import { startMarkets } from './state/markets.ts';
import { startPriceAlerts } from './state/price-alerts.ts';
import { followAddress } from './state/selected-market.ts';
import { startServiceStatus } from './state/service-status.ts';
import { startSession } from './state/session.ts';
import { startShortcuts } from './state/shortcuts.ts';
import { startLookups } from './state/submissions.ts';
import { startTelling } from './state/tell.ts';
import { applyTheme } from './state/theme.ts';
import { ownTexts } from './views/own-text.ts';

// The links of the document are relative to its first address, and the address changes with the market.
for (const link of document.querySelectorAll<HTMLLinkElement>('link[rel="icon"], link[rel="manifest"]'))
  link.setAttribute('href', link.href);
applyTheme();
ownTexts();
followAddress();
startKeptDrafts();
startClock();
startMarkets();
startMarketFeed();
startCandles();
startFirstChart();
startServiceStatus();
startSession();
startAccount();
startLookups();
startTelling();
startLeaving();
startPriceAlerts();
startShortcuts();
startDocumentTitle();
render(<App />, document.getElementById('page')!);
