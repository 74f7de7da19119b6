//! A work of many parts, half of it done by a second thread.

/// Fewer parts are done sooner alone: a thread may start a millisecond late, where a processor sleeps or both are busy.
pub const SHARED_MIN: usize = 4_096;

/// Does a work, half of it on another thread if it has many parts. The results are in the order of the parts; of errors the first
/// one is given.
pub fn in_halves<T: Sync, R: Send, E: Send>(
    parts: &[T],
    work: impl Fn(&[T]) -> Result<Vec<R>, E> + Sync,
) -> Result<Vec<R>, E> {
    if parts.len() < SHARED_MIN {
        return work(parts);
    }
    let (first, second) = parts.split_at(parts.len() / 2);
    std::thread::scope(|scope| {
        let helper = std::thread::Builder::new().name("half".into()).spawn_scoped(scope, || work(second));
        let done = work(first);
        let rest = match helper.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(rest)) => rest,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // No more threads: alone, then.
            Err(_) => work(second),
        };
        let mut done = done?;
        done.extend(rest?);
        Ok(done)
    })
}

#[cfg(test)]
mod tests {
    use super::{SHARED_MIN, in_halves};

    #[test]
    fn results_come_in_order_and_the_first_error_counts() {
        for count in [0, 1, SHARED_MIN - 1, SHARED_MIN, 2 * SHARED_MIN + 1] {
            let parts: Vec<usize> = (0..count).collect();
            let doubled = in_halves(&parts, |some| Ok::<_, ()>(some.iter().map(|part| 2 * part).collect()));
            assert_eq!(doubled, Ok((0..count).map(|part| 2 * part).collect()));
        }
        let parts: Vec<usize> = (0..SHARED_MIN).collect();
        for refused in [vec![0], vec![SHARED_MIN - 1], vec![0, SHARED_MIN - 1]] {
            let outcome = in_halves(&parts, |some| match some.iter().find(|part| refused.contains(part)) {
                Some(part) => Err(*part),
                None => Ok(some.to_vec()),
            });
            assert_eq!(outcome, Err(refused[0]));
        }
    }
}
