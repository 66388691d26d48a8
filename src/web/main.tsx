/** Starts the trading page: reads the settings of the document and draws the page into it. */

import { render } from 'preact';
import { App } from './app.tsx';
import { followAddress } from './state/selected-market.ts';
import { applyTheme } from './state/theme.ts';

applyTheme();
followAddress();
render(<App />, document.getElementById('page')!);
