//! Status and headers of one page of a diff, as text.

use varve_archive::verbs::diff::{PageChange, PageComparison, REDACTED_VALUE, RedactedSide};

use super::notes::status_change;
use crate::error::Error;
use crate::printer::{BAD_STYLE, FAINT_STYLE, GOOD_STYLE, Printer, WARNING_STYLE, visible};

/// Prints how status and headers differ. For an added or removed page, headers are printed only
/// with `--mode headers`.
pub(super) fn draw(
    page: &PageComparison<'_>,
    headers_only: bool,
    all: bool,
    printer: &mut Printer,
) -> Result<(), Error> {
    if let Some((base, head)) = status_change(page) {
        printer.line(format_args!("{WARNING_STYLE}status {base} → {head}{WARNING_STYLE:#}"))?;
    }
    let Some(comparison) = page.comparison else { return Ok(()) };
    if page.change != PageChange::Changed && !headers_only {
        return Ok(());
    }
    let headers = comparison.headers_diff(all);
    let noise = |name: &str| match comparison.header_noise.get(name) {
        Some(rule) => format!(" {FAINT_STYLE}(noise: {rule}){FAINT_STYLE:#}"),
        None => String::new(),
    };
    let one = |values: &[String]| visible(&values.join(", ")).into_owned();
    let gone = |name: &str, value: &str| format!("{BAD_STYLE}- {name}: {value}{BAD_STYLE:#}");
    let new = |name: &str, value: &str| format!("{GOOD_STYLE}+ {name}: {value}{GOOD_STYLE:#}{}", noise(name));
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
            RedactedSide::Removed => gone(name, REDACTED_VALUE) + &noise(name),
            _ => new(name, REDACTED_VALUE),
        })?;
    }
    let hidden: Vec<&str> = comparison.redacted_on_both().collect();
    if !hidden.is_empty() {
        let names = hidden.join(", ");
        printer.line(format_args!("{FAINT_STYLE}redacted, not compared: {names}{FAINT_STYLE:#}"))?;
    }
    Ok(())
}
