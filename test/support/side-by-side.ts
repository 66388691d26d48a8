/** Runs tests that mostly wait concurrently. */

/** Starts all scenarios with the first of these tests. Each test then awaits its own scenario. */
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
