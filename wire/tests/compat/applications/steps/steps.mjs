// Tells what each step of a program came to, as tools.py reads it.

const plain = (_, value) => (typeof value === "bigint" ? `${value}` : value);

function tell(step, outcome, message) {
  console.log(JSON.stringify({ step, outcome, message }));
}

/** The innermost error, with its SQLSTATE: libraries wrap what the driver threw. */
function said(error) {
  while (error.cause ?? error.driverError) error = error.cause ?? error.driverError;
  const parts = [error.code, error.message, error.detail, error.hint, error.query];
  return parts.filter(Boolean).join(" | ");
}

/** Runs a step; what it returns is its answer. True if it passed. */
export async function step(name, body) {
  try {
    tell(name, "passed", JSON.stringify((await body()) ?? null, plain));
    return true;
  } catch (error) {
    tell(name, "failed", said(error));
    return false;
  }
}

/** Ends a step that has not what it must have. */
export function must(condition, what) {
  if (!condition) throw new Error(`not so: ${what}`);
}

/** What an operation fails with, by its SQLSTATE. */
export async function refused(operation) {
  try {
    await operation();
  } catch (error) {
    while (error.cause ?? error.driverError) error = error.cause ?? error.driverError;
    return [error.code, error.constraint ?? null];
  }
  throw new Error("not so: it was not refused");
}
