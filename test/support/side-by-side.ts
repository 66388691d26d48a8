/** Tests that mostly wait, at the same time. */

/** Begins all scenarios with the first of these tests; each test then waits for its own. */
export function sideBySide(scenarios: Readonly<Record<string, () => Promise<void>>>): void {
  const running = new Map<string, Promise<void>>();
  before(() => {
    for (const [name, scenario] of Object.entries(scenarios)) {
      const outcome = scenario();
      outcome.catch(() => undefined); // told by its test
      running.set(name, outcome);
    }
  });
  for (const name of Object.keys(scenarios)) it(name, () => running.get(name));
}
