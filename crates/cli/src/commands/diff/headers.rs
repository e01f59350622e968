//! Status and headers of one page of a diff, as a terminal shows them.

use varve_archive::verbs::diff::{Change, PageDiff, REDACTED, RedactedSide};

use crate::error::Error;
use crate::printer::{BAD, FAINT, GOOD, Printer, WARN, visible};

/// Shows how status and headers differ. Of a page that came or went all headers did, which is told only where it is asked for.
pub(super) fn draw(
    page: &PageDiff<'_>,
    is_asked_for: bool,
    all: bool,
    printer: &mut Printer,
) -> Result<(), Error> {
    if let (Some(base), Some(head)) = (&page.pair.base, &page.pair.head)
        && base.status != head.status
    {
        printer.line(format_args!("{WARN}status {} → {}{WARN:#}", base.status, head.status))?;
    }
    let Some(comparison) = page.comparison else { return Ok(()) };
    if page.change != Change::Changed && !is_asked_for {
        return Ok(());
    }
    let headers = comparison.headers_diff(all);
    let noise = |name: &str| match comparison.header_noise.get(name) {
        Some(rule) => format!(" {FAINT}(noise: {rule}){FAINT:#}"),
        None => String::new(),
    };
    let one = |values: &[String]| visible(&values.join(", ")).into_owned();
    let gone = |name: &str, value: &str| format!("{BAD}- {name}: {value}{BAD:#}");
    let new = |name: &str, value: &str| format!("{GOOD}+ {name}: {value}{GOOD:#}{}", noise(name));
    for (name, values) in &headers.removed {
        printer.line(gone(name, &one(values)) + &noise(name))?;
    }
    for (name, change) in &headers.changed {
        printer.line(gone(name, &one(&change.from)))?;
        printer.line(new(name, &one(&change.to)))?;
    }
    for (name, values) in &headers.added {
        printer.line(new(name, &one(values)))?;
    }
    for (name, side) in comparison.redacted_changes(all) {
        printer.line(match side {
            RedactedSide::Removed => gone(name, REDACTED) + &noise(name),
            _ => new(name, REDACTED),
        })?;
    }
    let hidden: Vec<&str> = comparison.redacted_on_both().collect();
    if !hidden.is_empty() {
        let names = hidden.join(", ");
        printer.line(format_args!("{FAINT}redacted, and so not compared: {names}{FAINT:#}"))?;
    }
    Ok(())
}
