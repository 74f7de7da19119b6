# Tells what each step of a program came to, as tools.py reads it.
require "json"

def tell(step, outcome, message)
  $stdout.sync = true
  $stdout.puts JSON.generate(step: step, outcome: outcome, message: message)
end

# The innermost error, with its SQLSTATE.
def said(error)
  error = error.cause while error.cause
  state = error.result&.error_field(PG::PG_DIAG_SQLSTATE) if error.respond_to?(:result)
  [state, error.message.strip, error.backtrace&.grep(%r{/redmine/})&.first].compact.join(" | ")
end

# Runs a step; what it returns is its answer.
def step(name)
  tell(name, "passed", JSON.generate(yield))
rescue StandardError => error
  tell(name, "failed", said(error))
end

def must(condition, what)
  raise "not so: #{what}" unless condition
end
