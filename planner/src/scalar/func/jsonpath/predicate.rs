//! Predicates, which are true, false or unknown, and the arithmetic that they compare.

use super::compare::compare;
use super::compiled;
use super::execution::{Execution, Found, Outcome, Scope, Status, push};
use super::value::{Item, View};
use repr::jsonpath::{Chain, Junction, Operator, Step};
use repr::{Jsonb, Numeric, ValueError, poll};

/// None is unknown.
type Truth = Result<Option<bool>, ValueError>;

impl Execution<'_> {
    /// What a predicate says of an item.
    pub(super) fn truth(&mut self, step: &Step, at: View<'_>, scope: Scope<'_>) -> Truth {
        match step {
            Step::Junction(junction, terms) => self.junction(*junction, terms, at, scope),
            Step::Not(inner) => Ok(self.truth(&inner[0], at, scope)?.map(|holds| !holds)),
            Step::IsUnknown(inner) => Ok(Some(self.truth(&inner[0], at, scope)?.is_none())),
            Step::Exists(inner) => self.exists_in(inner, at, scope),
            Step::Binary(Operator::StartsWith, whole, initial) => {
                let Some(whole) = self.sequence(whole, at, quiet(scope), true)? else { return Ok(None) };
                let Some(initial) = self.sequence(initial, at, quiet(scope), false)? else { return Ok(None) };
                self.any_pair(&whole, &initial, |_, whole, initial| match (whole, initial) {
                    (Item::Json(Jsonb::String(whole)), Item::Json(Jsonb::String(initial))) => {
                        Ok(Some(whole.starts_with(&**initial)))
                    }
                    _ => Ok(None),
                })
            }
            Step::Binary(operator, left, right) => {
                let Some(left) = self.sequence(left, at, quiet(scope), true)? else { return Ok(None) };
                let Some(right) = self.sequence(right, at, quiet(scope), true)? else { return Ok(None) };
                self.any_pair(&left, &right, |execution, left, right| {
                    compare(*operator, left.view(), right.view(), execution.ctx, execution.call.is_zoned)
                })
            }
            Step::LikeRegex(inner, pattern) => {
                let Some(texts) = self.sequence(inner, at, quiet(scope), true)? else { return Ok(None) };
                let regular = compiled(pattern)?;
                let nothing = [Item::Json(Jsonb::Null)];
                self.any_pair(&texts, &nothing, |_, text, _| match text {
                    Item::Json(Jsonb::String(text)) => regular.is_match(text).map(Some),
                    Item::Json(_) | Item::Moment(_) => Ok(None),
                })
            }
            _ => Err(ValueError::new("XX000", "a step of a path that is no predicate stands where one is expected")),
        }
    }

    /// Terms from left to right; what decides it ends it, and an error does not.
    fn junction(&mut self, junction: Junction, terms: &[Chain], at: View<'_>, scope: Scope<'_>) -> Truth {
        let decides = junction == Junction::Or;
        let mut truth = Some(!decides);
        for term in terms {
            let next = self.truth(&term[0], at, scope)?;
            if next == Some(decides) {
                return Ok(next);
            }
            truth = if next == Some(!decides) { truth } else { next };
        }
        Ok(truth)
    }

    /// Strictly, all items have to be looked at.
    fn exists_in(&mut self, steps: &[Step], at: View<'_>, scope: Scope<'_>) -> Truth {
        if !self.is_lax {
            return Ok(self.sequence(steps, at, quiet(scope), false)?.map(|items| !items.is_empty()));
        }
        Ok(match self.follow(steps, at, quiet(scope), None)? {
            Status::Found => Some(true),
            Status::NotFound => Some(false),
            Status::Failed => None,
        })
    }

    /// The items that steps give; arrays among them are taken apart where that is lax and asked for. None for an error.
    fn sequence(
        &mut self,
        steps: &[Step],
        at: View<'_>,
        scope: Scope<'_>,
        unwraps: bool,
    ) -> Result<Option<Vec<Item>>, ValueError> {
        let mut items = Vec::new();
        if self.follow(steps, at, scope, Some(&mut items))? == Status::Failed {
            return Ok(None);
        }
        if !unwraps || !self.is_lax || !items.iter().any(|item| item.view().elements().is_some()) {
            return Ok(Some(items));
        }
        let mut flat = Vec::with_capacity(items.len());
        for item in items {
            match item.view().elements() {
                Some(elements) => {
                    for element in elements {
                        poll::step()?;
                        push(&mut flat, Item::Json(element.clone()))?;
                    }
                }
                None => push(&mut flat, item)?,
            }
        }
        Ok(Some(flat))
    }

    /// Whether something holds for any pair. Strictly, all pairs are looked at, and one of which it is unknown decides.
    fn any_pair(&self, left: &[Item], right: &[Item], holds: impl Fn(&Self, &Item, &Item) -> Truth) -> Truth {
        let (mut is_found, mut is_unknown) = (false, false);
        for left in left {
            for right in right {
                poll::step()?;
                match holds(self, left, right)? {
                    Some(true) if self.is_lax => return Ok(Some(true)),
                    Some(true) => is_found = true,
                    Some(false) => {}
                    None if self.is_lax => is_unknown = true,
                    None => return Ok(None),
                }
            }
        }
        Ok(if is_found {
            Some(true)
        } else if is_unknown {
            None
        } else {
            Some(false)
        })
    }

    /// Two single numbers and an operator.
    pub(super) fn arithmetic(
        &mut self,
        operator: Operator,
        (left, right): (&Chain, &Chain),
        rest: &[Step],
        at: View<'_>,
        scope: Scope<'_>,
        found: Found<'_>,
    ) -> Outcome {
        let Some(left) = self.sequence(left, at, scope, true)? else { return Ok(Status::Failed) };
        let Some(right) = self.sequence(right, at, scope, true)? else { return Ok(Status::Failed) };
        let no_operand = |side: &str| {
            let symbol = operator.symbol();
            ValueError::new(
                "22038",
                format!("{side} operand of jsonpath operator {symbol} is not a single numeric value"),
            )
        };
        let Some(left) = single_number(&left) else { return self.fail(scope, || no_operand("left")) };
        let Some(right) = single_number(&right) else { return self.fail(scope, || no_operand("right")) };
        match calculated(operator, left, right) {
            Ok(number) => self.go_on(rest, View::Json(&Jsonb::Number(number)), scope, found),
            // Division by zero, a number that is too large.
            Err(error) if error.code.starts_with("22") => self.fail(scope, || error),
            Err(error) => Err(error),
        }
    }

    /// A sign before each number of a sequence.
    pub(super) fn sign(
        &mut self,
        is_negated: bool,
        operand: &[Step],
        rest: &[Step],
        at: View<'_>,
        scope: Scope<'_>,
        mut found: Found<'_>,
    ) -> Outcome {
        let Some(items) = self.sequence(operand, at, scope, true)? else { return Ok(Status::Failed) };
        let mut status = Status::NotFound;
        let is_asked_only = found.is_none() && rest.is_empty();
        for item in &items {
            let Some(number) = item.number() else {
                if is_asked_only {
                    continue;
                }
                let sign = if is_negated { "-" } else { "+" };
                let message = format!("operand of unary jsonpath operator {sign} is not a numeric value");
                return self.fail(scope, || ValueError::new("2203B", message));
            };
            let number = Jsonb::Number(if is_negated { number.negate() } else { number.clone() });
            match self.go_on(rest, View::Json(&number), scope, found.as_deref_mut())? {
                Status::Failed => return Ok(Status::Failed),
                Status::Found if found.is_none() => return Ok(Status::Found),
                Status::Found => status = Status::Found,
                Status::NotFound => {}
            }
        }
        Ok(status)
    }
}

/// Errors within a predicate make it unknown.
fn quiet(scope: Scope<'_>) -> Scope<'_> {
    Scope { throws: false, ..scope }
}

fn single_number(items: &[Item]) -> Option<&Numeric> {
    match items {
        [item] => item.number(),
        _ => None,
    }
}

fn calculated(operator: Operator, left: &Numeric, right: &Numeric) -> Result<Numeric, ValueError> {
    match operator {
        Operator::Subtract => left.sub(right),
        Operator::Multiply => left.mul(right),
        Operator::Divide => left.div(right),
        Operator::Modulo => left.rem(right),
        Operator::Add
        | Operator::Equal
        | Operator::NotEqual
        | Operator::Less
        | Operator::Greater
        | Operator::LessOrEqual
        | Operator::GreaterOrEqual
        | Operator::StartsWith => left.add(right),
    }
}
