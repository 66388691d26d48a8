/** Signs a wallet in and out. */

export function SignIn() {
  return <button type="button">Sign in</button>;
}
