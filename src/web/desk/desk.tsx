/** Starts the desk of operators: the page at OPERATOR_PORT. */

import { render } from 'preact';
import { applyTheme } from '../state/theme.ts';
import { ownTexts } from '../views/own-text.ts';
import { Desk } from './views/desk.tsx';

applyTheme();
ownTexts();
render(<Desk />, document.getElementById('page')!);
