//! Setting and removing properties.

use crate::error::{Refusal, Result};
use crate::project::ProjectWriter;
use crate::rows::property_name::{MAJOR_VERSION, MAJOR_VERSION_OLD};

impl ProjectWriter {
    /// Sets a property, or removes it. Those that say how bodies lie are not set by hand.
    pub fn set_property(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        if name == MAJOR_VERSION || name == MAJOR_VERSION_OLD {
            return Err(Refusal::OwnProperty { name: name.to_owned() }.into());
        }
        self.change("property", |change| {
            let Some(value) = value else {
                change.run("DELETE FROM project_property WHERE name = ?1", [name])?;
                return Ok(());
            };
            let update = "UPDATE project_property SET value = ?2 WHERE name = ?1";
            if change.run(update, [name, value])? == 0 {
                change.run("INSERT INTO project_property (name, value) VALUES (?1, ?2)", [name, value])?;
            }
            Ok(())
        })
    }
}
