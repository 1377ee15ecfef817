//! Which cells of the grid are measured.

use std::fmt;
use std::str::FromStr;

use tessera_reports::roaming::{CellName, Setup};
use tessera_reports::{Continuation, KeyExchange, OneTimeKey};

use super::grid;

/// Selects cells: each named field must have one of the named values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: Field,
    values: Vec<String>,
}

/// A part of a cell's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Through,
    Option,
    Mode,
    Kx,
    TicketKey,
    Continuation,
    Store,
    Suite,
    Link,
    Loss,
    Burst,
    Congestion,
}

impl Field {
    const ALL: [Self; 12] = [
        Self::Through,
        Self::Option,
        Self::Mode,
        Self::Kx,
        Self::TicketKey,
        Self::Continuation,
        Self::Store,
        Self::Suite,
        Self::Link,
        Self::Loss,
        Self::Burst,
        Self::Congestion,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Through => "through",
            Self::Option => "option",
            Self::Mode => "mode",
            Self::Kx => "kx",
            Self::TicketKey => "ticket_key",
            Self::Continuation => "continuation",
            Self::Store => "store",
            Self::Suite => "suite",
            Self::Link => "link",
            Self::Loss => "loss",
            Self::Burst => "burst",
            Self::Congestion => "congestion",
        }
    }

    /// Its value in a cell's name, as a filter writes it.
    fn of(self, cell: &CellName) -> String {
        let CellName { variant, through, link } = cell;
        match self {
            Self::Through => through.name().to_owned(),
            Self::Option => variant.option.letter().to_owned(),
            Self::Mode => variant.mode.name().to_owned(),
            Self::Kx => variant.kx.map_or("none", KeyExchange::name).to_owned(),
            Self::TicketKey => variant.ticket_key.map_or("none", OneTimeKey::name).to_owned(),
            Self::Continuation => {
                variant.continuation.map_or("none", Continuation::name).to_owned()
            }
            Self::Store => variant.store.name().to_owned(),
            Self::Suite => variant.suite.number().to_owned(),
            Self::Link => link.name.clone(),
            Self::Loss => link.loss.to_string(),
            Self::Burst => link.loss_burst.to_string(),
            Self::Congestion => link.congestion.to_string(),
        }
    }

    /// Returns the filter's word for a value as tables and other options write it: they use shorter names of keys, `-`
    /// for none, and percentages.
    fn word(self, value: &str) -> String {
        let of_a_table = match self {
            Self::Kx => {
                KeyExchange::ALL.into_iter().find(|kx| kx.short() == value).map(KeyExchange::name)
            }
            Self::TicketKey => {
                OneTimeKey::ALL.into_iter().find(|key| key.short() == value).map(OneTimeKey::name)
            }
            _ => None,
        };
        match (self, value) {
            (Self::Kx | Self::TicketKey | Self::Continuation, "-" | "–") => "none".to_owned(),
            (Self::Loss | Self::Congestion, share) => {
                let percent = share.strip_suffix('%').and_then(|it| it.parse::<f64>().ok());
                percent.map_or_else(|| share.to_owned(), |percent| (percent / 100.0).to_string())
            }
            _ => of_a_table.unwrap_or(value).to_owned(),
        }
    }

    /// Returns all values that cells have, in the order of the grid.
    fn values(self, cells: &[CellName]) -> Vec<String> {
        let mut values = Vec::new();
        for value in cells.iter().map(|cell| self.of(cell)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }
}

impl Filter {
    /// Returns the help of a filter: a line for each field, with all of its values.
    #[must_use]
    pub fn help() -> String {
        let cells = grid::cells();
        let line = |field: Field| format!("{}: {}", field.name(), list(field.values(&cells)));
        Field::ALL.map(line).join("\n")
    }

    fn takes(&self, cell: &CellName) -> bool {
        self.terms.iter().all(|term| term.values.contains(&term.field.of(cell)))
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let cells = grid::cells();
        let term = |text: &str| -> Result<Term, String> {
            let (name, values) = text.split_once('=').ok_or_else(|| {
                format!(
                    "`{text}` is not FIELD=VALUE; fields are {}",
                    list(Field::ALL.map(Field::name))
                )
            })?;
            let field = Field::ALL.into_iter().find(|field| field.name() == name);
            let field = field.ok_or_else(|| {
                format!("no field is `{name}`; fields are {}", list(Field::ALL.map(Field::name)))
            })?;
            let known = field.values(&cells);
            let values: Vec<_> = values.split('|').collect();
            let words: Vec<_> = values.iter().map(|value| field.word(value)).collect();
            match values.iter().zip(&words).find(|(_, word)| !known.contains(word)) {
                Some((value, _)) => {
                    Err(format!("no {name} is `{value}`; the values are {}", list(&known)))
                }
                None => Ok(Term { field, values: words }),
            }
        };
        let filter = Self { terms: text.split(',').map(term).collect::<Result<_, _>>()? };
        if !cells.iter().any(|cell| filter.takes(cell)) {
            return Err("no cell matches all of that; leave something out".to_owned());
        }
        Ok(filter)
    }
}

fn list<T: fmt::Display>(values: impl IntoIterator<Item = T>) -> String {
    let values: Vec<_> = values.into_iter().map(|value| value.to_string()).collect();
    values.join(", ")
}

/// Returns the cells that a filter selects, or a sample of them of this size: drawn with this seed, alternating between
/// those in memory, over links, and through SEPPs.
pub(super) fn chosen(filter: Option<&Filter>, sample: Option<usize>, seed: u64) -> Vec<CellName> {
    let mut cells = grid::cells();
    cells.retain(|cell| filter.is_none_or(|filter| filter.takes(cell)));
    let Some(sample) = sample else { return cells };
    let mut random = SplitMix(seed);
    let mut drawn = vec![false; cells.len()];
    for turn in 0..sample.min(cells.len()) {
        let indices = |through: Option<Setup>| -> Vec<usize> {
            let left = (0..cells.len()).filter(|index| !drawn[*index]);
            left.filter(|index| through.is_none_or(|it| cells[*index].through == it)).collect()
        };
        let of_turn = indices(Some(Setup::ALL[turn % Setup::ALL.len()]));
        let left = if of_turn.is_empty() { indices(None) } else { of_turn };
        let index = (random.next() % left.len() as u64) as usize;
        drawn[left[index]] = true;
    }
    let mut drawn = drawn.into_iter();
    cells.retain(|_| drawn.next() == Some(true));
    cells
}

/// Steele, Lea and Flood's generator (2014), for draws that a seed repeats.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(filter: &str) -> Vec<String> {
        let filter = filter.parse().unwrap();
        chosen(Some(&filter), None, 1).iter().map(CellName::key).collect()
    }

    #[test]
    fn a_filter_takes_the_cells_that_have_all_of_its_values() {
        let full = keys("through=engine,option=a,suite=0x1302");
        assert_eq!(
            full,
            [
                "engine/a/full/x25519/none/none/memory/0x1302/none",
                "engine/a/full/x25519mlkem768/none/none/memory/0x1302/none",
            ]
        );
        assert_eq!(keys("through=engine,kx=x25519,option=a|c|d'").len(), 2 * 3);
        let disturbed = keys("link=seoul-los-angeles,loss=0.01,burst=3,mode=psk-only,suite=0x1302");
        assert_eq!(
            disturbed,
            [
                "endpoints/b/psk-only/none/none/none/memory/0x1302/seoul-los-angeles,loss=0.01,burst=3"
            ]
        );
    }

    /// A user copies words from a table.
    #[test]
    fn a_filter_knows_the_words_of_tables_and_percentages() {
        for (short, long) in [
            ("kx=hybrid,option=a", "kx=x25519mlkem768,option=a"),
            ("kx=-,option=b", "kx=none,option=b"),
            ("ticket_key=psk|hybrid", "ticket_key=one-time-psk|x25519mlkem768"),
            ("continuation=-,ticket_key=–", "continuation=none,ticket_key=none"),
            ("loss=1%", "loss=0.01"),
            ("loss=0.1%|0%", "loss=0.001|0"),
            ("congestion=5%|20%", "congestion=0.05|0.2"),
        ] {
            assert_eq!(short.parse::<Filter>(), long.parse::<Filter>(), "{short}");
            assert!(!keys(short).is_empty());
        }
        assert!("loss=2%".parse::<Filter>().unwrap_err().contains("no loss is `2%`"));
    }

    #[test]
    fn the_help_of_filters_has_every_value_of_every_field() {
        let help = Filter::help();
        for cell in grid::cells() {
            for field in Field::ALL {
                let line =
                    help.lines().find(|line| line.starts_with(&format!("{}: ", field.name())));
                let (_, values) = line.unwrap().split_once(": ").unwrap();
                assert!(values.split(", ").any(|value| value == field.of(&cell)), "{values}");
            }
        }
    }

    #[test]
    fn a_filter_that_takes_nothing_is_refused_with_what_there_is() {
        for (filter, words) in [
            ("engine", "`engine` is not FIELD=VALUE; fields are through, option"),
            ("weather=fine", "no field is `weather`; fields are through, option"),
            ("option=f", "no option is `f`; the values are a, b, c, d, d', e"),
            ("option=a|f", "no option is `f`"),
            ("suite=0x1303", "the values are 0x1302, 0x1301"),
            ("through=engine,link=371ms", "no cell matches all of that"),
            ("", "is not FIELD=VALUE"),
        ] {
            let refusal = filter.parse::<Filter>().unwrap_err();
            assert!(refusal.contains(words), "{filter}: {refusal}");
        }
    }

    #[test]
    fn a_sample_is_drawn_by_its_seed_and_from_each_kind_of_cells() {
        let draw = |sample, seed| -> Vec<String> {
            chosen(None, Some(sample), seed).iter().map(CellName::key).collect()
        };
        let three = draw(3, 1);
        assert_eq!(three, draw(3, 1));
        assert_ne!(three, draw(3, 2));
        for through in Setup::ALL {
            assert!(three.iter().any(|key| key.starts_with(through.name())), "{three:?}");
        }
        let all = grid::cells().len();
        assert_eq!(draw(all + 5, 1).len(), all);
        let filter = "through=engine,option=b".parse().unwrap();
        assert_eq!(chosen(Some(&filter), Some(3), 1).len(), 2);
    }
}
