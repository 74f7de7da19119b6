//! Locals: those used once are put in place, those unused are dropped. What is used twice stays shared.

use crate::mir::Mir;
use crate::plan::LocalId;

/// Removes every `Let` that shares nothing. A value is not moved into a recursion's step, where it would be
/// part of every round.
pub fn inline(mir: Mir) -> Mir {
    match mir {
        Mir::Let { id, value, body } => {
            let value = inline(*value);
            let body = inline(*body);
            let uses = body.uses(id);
            let trivial = match &value {
                Mir::GetLocal { .. } => true,
                Mir::Constant { rows, .. } => rows.len() <= 1,
                _ => false,
            };
            if uses == 0 {
                return body;
            }
            if trivial || (uses == 1 && !used_in_step(&body, id)) {
                return replaced(body, id, &value);
            }
            Mir::Let { id, value: Box::new(value), body: Box::new(body) }
        }
        mut other => {
            for child in other.children_mut() {
                let taken = std::mem::replace(child, Mir::unit());
                *child = inline(taken);
            }
            other
        }
    }
}

fn used_in_step(mir: &Mir, id: LocalId) -> bool {
    let here = matches!(mir, Mir::LetRec { step, .. } if step.uses(id) > 0);
    here || mir.children().into_iter().any(|child| used_in_step(child, id))
}

fn replaced(mut mir: Mir, local: LocalId, value: &Mir) -> Mir {
    if matches!(&mir, Mir::GetLocal { id, .. } if *id == local) {
        return value.clone();
    }
    for child in mir.children_mut() {
        let taken = std::mem::replace(child, Mir::unit());
        *child = replaced(taken, local, value);
    }
    mir
}
