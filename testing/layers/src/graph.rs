//! Arrows between the modules of one folder.

use std::collections::BTreeMap;

/// Which module uses which, each with one import as evidence.
#[derive(Default)]
pub(crate) struct Graph<'a>(BTreeMap<&'a str, BTreeMap<String, String>>);

impl<'a> Graph<'a> {
    pub(crate) fn arrow(&mut self, from: &'a str, to: String, import: String) {
        self.0.entry(from).or_default().entry(to).or_insert(import);
    }

    /// Returns the arrows that don't point down in an order given from the top, each with its import.
    pub(crate) fn upward(&self, order: &[&str]) -> Vec<String> {
        let height = |module: &str| order.iter().rev().position(|name| *name == module);
        let arrows = self.0.iter().flat_map(|(from, used)| used.iter().map(move |to| (*from, to)));
        let upward = arrows.filter(|(from, (to, _))| height(from) <= height(to));
        upward.map(|(_, (_, import))| import.clone()).collect()
    }

    /// Describes a circle, if there is one.
    pub(crate) fn circle(&self) -> Option<String> {
        let mut cleared = Vec::new();
        self.0.keys().find_map(|start| self.circle_from(start, &mut Vec::new(), &mut cleared))
    }

    /// `path` leads to `at`; no circle is reachable from a module in `cleared`.
    fn circle_from<'g>(
        &'g self,
        at: &'g str,
        path: &mut Vec<&'g str>,
        cleared: &mut Vec<&'g str>,
    ) -> Option<String> {
        if let Some(first) = path.iter().position(|module| *module == at) {
            let circle: Vec<_> = path.iter().skip(first).copied().chain([at]).collect();
            return Some(self.describe(&circle));
        }
        if !cleared.contains(&at) {
            path.push(at);
            let mut next = self.0.get(at).into_iter().flat_map(BTreeMap::keys);
            if let Some(found) = next.find_map(|next| self.circle_from(next, path, cleared)) {
                return Some(found);
            }
            path.pop();
            cleared.push(at);
        }
        None
    }

    fn describe(&self, circle: &[&str]) -> String {
        let imports = circle.windows(2).filter_map(|pair| match pair {
            [from, to] => self.0.get(from)?.get(*to),
            _ => None,
        });
        let imports: Vec<_> = imports.cloned().collect();
        format!("{} ({})", circle.join(" -> "), imports.join("; "))
    }
}
