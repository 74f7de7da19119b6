//! The memory of messages that are arriving: what clients have sent of long ones, all connections together.
//!
//! A length that is only claimed costs nothing (`decode`); what is sent is kept, and is bounded here for all.

use std::sync::atomic::{AtomicUsize, Ordering};

/// So much of a connection's is not counted.
pub(crate) const UNCOUNTED_BYTES: usize = 256 << 10;
/// What may have arrived of messages that are not whole yet.
const ARRIVING_BYTES_MAX: usize = 256 << 20;

/// Of all connections of this process: it is the process's memory.
static ARRIVING_BYTES: AtomicUsize = AtomicUsize::new(0);

/// What one connection has of it, until dropped.
#[derive(Default)]
pub struct Arriving {
    bytes: usize,
}

impl Arriving {
    /// Whether anything of it is counted.
    pub fn is_held(&self) -> bool {
        self.bytes > 0
    }

    /// It has so many bytes now. Whether there is memory for them; if not, it has what it had.
    pub fn hold(&mut self, bytes: usize) -> bool {
        let bytes = if bytes > UNCOUNTED_BYTES { bytes } else { 0 };
        if bytes <= self.bytes {
            ARRIVING_BYTES.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
            self.bytes = bytes;
            return true;
        }
        let more = bytes - self.bytes;
        if ARRIVING_BYTES.fetch_add(more, Ordering::Relaxed) + more > ARRIVING_BYTES_MAX {
            ARRIVING_BYTES.fetch_sub(more, Ordering::Relaxed);
            return false;
        }
        self.bytes = bytes;
        true
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.hold(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_connections_share_what_there_is() {
        let (mut one, mut other) = (Arriving::default(), Arriving::default());
        assert!(one.hold(UNCOUNTED_BYTES) && one.bytes == 0);
        assert!(one.hold(ARRIVING_BYTES_MAX / 2));
        assert!(!other.hold(ARRIVING_BYTES_MAX));
        assert!(one.hold(UNCOUNTED_BYTES + 1) && other.hold(ARRIVING_BYTES_MAX / 2));
        drop(other);
        assert!(one.hold(ARRIVING_BYTES_MAX / 2));
    }
}
