//! The clock. Rooms below are told the time and never ask for it.

use std::time::SystemTime;

use varve_archive::Date;

/// The present, to the second: the precision that a repair or a note is worth.
pub(crate) fn now() -> Date {
    Date::at_second(SystemTime::now())
}
