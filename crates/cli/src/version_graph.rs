//! The drawing of `varve log --graph`.
//!
//! Versions come newest first and have at most one parent, so the drawing is a row of columns, each
//! waiting for one version. Where a second column would wait for the same version, it leads over to
//! the first, as git draws it: `|_|/`.

use varve_archive::VersionId;

/// The columns so far.
#[derive(Default)]
pub(crate) struct VersionGraph {
    columns: Vec<Option<VersionId>>,
}

/// The drawing of one version.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GraphRow {
    /// Left of its first line.
    pub(crate) node: String,
    /// Left of its other lines.
    pub(crate) below: String,
    /// Lines that join columns.
    pub(crate) joins: Vec<String>,
}

impl VersionGraph {
    /// Draws the next version.
    pub(crate) fn step(&mut self, version: VersionId, parent: Option<VersionId>) -> GraphRow {
        let waiting: Vec<usize> =
            (0..self.columns.len()).filter(|at| self.columns[*at] == Some(version)).collect();
        let own = match waiting.first() {
            Some(own) => *own,
            None => self.free_column(),
        };
        let node = self.row(|at, column| match column {
            _ if at == own => '*',
            Some(_) => '|',
            None => ' ',
        });
        self.columns[own] = parent;
        for at in waiting.into_iter().skip(1) {
            self.columns[at] = None;
        }
        let below = self.row(|_, column| if column.is_some() { '|' } else { ' ' });
        let joins = parent.map(|parent| self.join(parent)).unwrap_or_default();
        while self.columns.last() == Some(&None) {
            self.columns.pop();
        }
        GraphRow { node, below, joins }
    }

    fn free_column(&mut self) -> usize {
        match self.columns.iter().position(Option::is_none) {
            Some(at) => at,
            None => {
                self.columns.push(None);
                self.columns.len() - 1
            }
        }
    }

    /// Where two columns wait for the same parent, the right one leads over to the left one.
    fn join(&mut self, parent: VersionId) -> Vec<String> {
        let same: Vec<usize> =
            (0..self.columns.len()).filter(|at| self.columns[*at] == Some(parent)).collect();
        let mut lines = Vec::new();
        for at in same.iter().copied().skip(1).rev() {
            self.columns[at] = None;
            let drawn = self.row(|_, column| if column.is_some() { '|' } else { ' ' });
            let mut line: Vec<char> = format!("{drawn:width$}", width = 2 * at).chars().collect();
            line[2 * at - 1] = '/';
            // It crosses other lines, and fills the blanks.
            let across = &mut line[2 * same[0] + 1..2 * at - 1];
            across.iter_mut().filter(|letter| **letter == ' ').for_each(|letter| *letter = '_');
            lines.push(line.into_iter().collect());
        }
        lines
    }

    fn row(&self, letter: impl Fn(usize, Option<VersionId>) -> char) -> String {
        let letters: Vec<String> =
            self.columns.iter().enumerate().map(|(at, column)| letter(at, *column).to_string()).collect();
        letters.join(" ").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn id(number: usize) -> VersionId {
        format!("00000000-0000-8000-8000-0000000000{number:02x}").parse().unwrap()
    }

    #[test]
    fn a_linear_history_is_one_column() {
        let mut graph = VersionGraph::default();
        assert_eq!(graph.step(id(2), Some(id(1))).node, "*");
        assert_eq!(
            graph.step(id(1), None),
            GraphRow { node: "*".into(), below: String::new(), joins: vec![] }
        );
    }

    /// The drawing of a history, given the parents from the oldest version on.
    fn drawn(parents: &[Option<usize>]) -> Vec<(usize, GraphRow)> {
        let mut graph = VersionGraph::default();
        let step =
            |(version, parent): (usize, &Option<usize>)| (version, graph.step(id(version), parent.map(id)));
        parents.iter().enumerate().rev().map(step).collect()
    }

    fn text(parents: &[Option<usize>]) -> String {
        let lines = drawn(parents)
            .into_iter()
            .flat_map(|(_, drawn)| [drawn.node, drawn.below].into_iter().chain(drawn.joins));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn two_children_are_two_columns_that_join() {
        insta::assert_snapshot!(text(&[None, Some(0), Some(0)]), @r"
        *
        |
        | *
        | |
        |/
        *
        ");
    }

    #[test]
    fn a_line_crosses_others_to_its_parent() {
        insta::assert_snapshot!(text(&[None, Some(0), Some(0), Some(1), Some(0)]), @r"
        *
        |
        | *
        | |
        | | *
        | | |
        |_|/
        | *
        | |
        |/
        *
        ");
        insta::assert_snapshot!(text(&[None, Some(0), Some(0), Some(0), Some(2), Some(1), Some(0)]), @r"
        *
        |
        | *
        | |
        | | *
        | | |
        | | | *
        | | | |
        |_|_|/
        | | *
        | | |
        |_|/
        | *
        | |
        |/
        *
        ");
    }

    /// Reads the parents back from the drawing, from the oldest version on. Panics where a line ends early.
    fn read(drawing: &[(usize, GraphRow)]) -> Vec<Option<usize>> {
        let mut parents = vec![None; drawing.len()];
        // Versions whose lines come down in each column.
        let mut lines: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let goes_on = |row: &str, lines: &BTreeMap<usize, Vec<usize>>, but: Option<usize>| {
            let drawn = row.char_indices().filter(|(_, letter)| *letter == '|').map(|(at, _)| at);
            assert!(drawn.eq(lines.keys().copied().filter(|at| Some(*at) != but)), "{row:?}");
        };
        for (version, GraphRow { node, below, joins }) in drawing {
            let place = node.find('*').expect("a version is drawn");
            goes_on(node, &lines, Some(place));
            lines.remove(&place).into_iter().flatten().for_each(|child| parents[child] = Some(*version));
            if below.chars().nth(place) == Some('|') {
                lines.insert(place, vec![*version]);
            }
            goes_on(below, &lines, None);
            for join in joins {
                let row: Vec<char> = join.chars().collect();
                let slash = row.iter().position(|letter| *letter == '/').expect("a line leads over");
                let mut to = slash - 1;
                while to > 0 && row[to - 1] == '_' {
                    to -= 2;
                }
                let moved = lines.remove(&(slash + 1)).expect("a line comes down to the slash");
                lines.get_mut(&to).expect("it leads to a line").extend(moved);
                goes_on(join, &lines, None);
            }
        }
        assert!(lines.is_empty(), "every line ends: {lines:?}");
        parents
    }

    proptest! {
        #[test]
        fn the_parents_can_be_read_from_the_drawing(seeds in prop::collection::vec(prop::option::weighted(0.9, any::<prop::sample::Index>()), 1..40)) {
            let parent = |(version, seed): (usize, &Option<prop::sample::Index>)| {
                seed.filter(|_| version > 0).map(|seed| seed.index(version))
            };
            let parents: Vec<Option<usize>> = seeds.iter().enumerate().map(parent).collect();
            prop_assert_eq!(read(&drawn(&parents)), parents);
        }
    }
}
