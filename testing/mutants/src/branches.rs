//! Branches for mutants, inserted into a text.

use std::collections::BTreeMap;

use crate::sites::Site;
use crate::{Genre, Mutant, MutantLocation};

/// What is inserted into a file.
#[derive(Default)]
pub(crate) struct Branches {
    inserted: Vec<Insertion>,
}

struct Insertion {
    at: usize,
    /// Behind what ends here. Of two, the later one ends within the earlier one.
    after: bool,
    text: String,
    number: Option<u32>,
    /// The mutants around which this stands.
    around: Vec<u32>,
}

/// What chooses among the mutants of one place.
const CHOICE: &str = "(match crate::mutant::on() { ";

impl Branches {
    /// Adds the mutants of a place.
    pub(crate) fn add<'a>(&mut self, site: &Site, mutants: impl Iterator<Item = &'a Mutant>) {
        match site {
            Site::Body(start) => {
                for Mutant { number, replacement, .. } in mutants {
                    let text =
                        format!("if crate::mutant::on() == {number} {{ return {replacement}; }} ");
                    self.insert(*start, false, text, Some(*number), &[*number]);
                }
            }
            Site::Guard(guard) => {
                let sides = mutants.map(|it| (it.number, it.replacement.clone()));
                self.choose(guard.start, guard.end, sides.collect());
            }
            Site::Operator { whole, left, right } => {
                let side = |it: &Mutant| {
                    let text = match it.genre {
                        Genre::BinaryOperator => format!("{left} {} {right}", it.replacement),
                        _ => format!("{} {right}", it.replacement),
                    };
                    syn::parse_str::<syn::Expr>(&text).ok().map(|_| (it.number, text))
                };
                self.choose(whole.start, whole.end, mutants.filter_map(side).collect());
            }
            Site::Field { whole, without } => {
                let sides = mutants.map(|it| (it.number, without.clone()));
                self.choose(whole.start, whole.end, sides.collect());
            }
            Site::Arm { whole, guard, pattern_end } => {
                for Mutant { number, .. } in mutants {
                    let isnt = format!("crate::mutant::on() != {number}");
                    let (own, around) = (Some(*number), &[*number][..]);
                    self.insert(whole.start, false, String::new(), None, around);
                    self.insert(whole.end, true, String::new(), None, around);
                    match guard {
                        Some(guard) => {
                            self.insert(guard.start, false, format!("{isnt} && ("), own, around);
                            self.insert(guard.end, true, ")".into(), own, around);
                        }
                        None => self.insert(*pattern_end, true, format!(" if {isnt}"), own, around),
                    }
                }
            }
        }
    }

    /// Chooses between these and what stands there.
    fn choose(&mut self, start: usize, end: usize, sides: Vec<(u32, String)>) {
        if sides.is_empty() {
            return;
        }
        let numbers: Vec<u32> = sides.iter().map(|(number, _)| *number).collect();
        self.insert(start, false, CHOICE.into(), None, &numbers);
        for (number, side) in sides {
            self.insert(start, false, format!("{number} => {side}, "), Some(number), &numbers);
        }
        self.insert(start, false, "_ => ".into(), None, &numbers);
        self.insert(end, true, " })".into(), None, &numbers);
    }

    fn insert(
        &mut self,
        at: usize,
        after: bool,
        text: String,
        number: Option<u32>,
        around: &[u32],
    ) {
        self.inserted.push(Insertion { at, after, text, number, around: around.to_vec() });
    }

    /// Returns the changed text, and where each mutant stands in it.
    pub(crate) fn apply(self, text: &str, file: &str) -> (String, Vec<MutantLocation>) {
        let mut order: Vec<_> = self.inserted.into_iter().enumerate().collect();
        order.sort_by_key(|(place, it)| {
            let place = *place as isize;
            (it.at, !it.after, if it.after { -place } else { place })
        });
        let (mut out, mut done) = (String::new(), 0);
        let mut written: BTreeMap<u32, MutantLocation> = BTreeMap::new();
        for (_, it) in order {
            out.push_str(text.get(done..it.at).unwrap_or_default());
            done = it.at;
            let start = out.len();
            out.push_str(&it.text);
            let here = (start, out.len());
            for number in &it.around {
                let of = written.entry(*number).or_insert_with(|| MutantLocation {
                    number: *number,
                    file: file.into(),
                    own: Vec::new(),
                    whole: here,
                });
                of.whole.1 = here.1;
                if it.number == Some(*number) {
                    of.own.push(here);
                }
            }
        }
        out.push_str(text.get(done..).unwrap_or_default());
        (out, written.into_values().collect())
    }
}
