/** Starts the desk of operators: the page at OPERATOR_PORT. */

import { render } from 'preact';
import { applyTheme } from '../state/theme.ts';
import { Desk } from './views/desk.tsx';

applyTheme();
render(<Desk />, document.getElementById('page')!);
