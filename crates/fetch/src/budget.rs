//! The limit on all responses of a run together, those in flight included.
//!
//! Every received byte is subtracted from the budget. The first bytes of a response, with its head,
//! are always accepted, so that the record can be read. Once the budget is spent, no further byte
//! of a body is accepted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that may still be received. Cloning shares them.
#[derive(Clone, Debug)]
pub struct ByteBudget(Arc<AtomicU64>);

impl ByteBudget {
    /// A budget of `bytes`.
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Takes up to `bytes` out of the budget. Returns how many it had.
    pub(crate) fn take(&self, bytes: usize) -> usize {
        let wanted = bytes as u64;
        let take = |left: u64| Some(left.saturating_sub(wanted));
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).unwrap_or_default();
        usize::try_from(left).unwrap_or(usize::MAX).min(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_never_overdrawn() {
        let budget = ByteBudget::new(10);
        assert_eq!((budget.take(4), budget.clone().take(4), budget.is_spent()), (4, 4, false));
        assert_eq!((budget.take(4), budget.take(4), budget.is_spent()), (2, 0, true));
    }
}
