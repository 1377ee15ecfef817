//! The number of messages refused, by rule, and of those in which readers find the lie.

use std::collections::BTreeMap;

#[derive(Default)]
pub struct Counts {
    /// By rule, for each corpus.
    pub refused: BTreeMap<&'static str, BTreeMap<&'static str, usize>>,
    /// Messages that pass with an honest value in place of the lie.
    pub honest: usize,
    rows: Vec<(&'static str, [usize; 4])>,
}

const TITLES: [&str; 4] = ["unguarded", "not rewritten", "any member", "by default"];

impl Counts {
    /// Adds to a row of the table.
    pub fn row(&mut self, title: &'static str, counts: [usize; 4]) {
        match self.rows.iter_mut().find(|(other, _)| *other == title) {
            Some((_, row)) => row.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count),
            None => self.rows.push((title, counts)),
        }
    }

    pub fn check(&self) {
        for (what, rules) in &self.refused {
            let rules: Vec<_> =
                rules.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
            println!("refused, {what}: {}", rules.join(", "));
        }
        let print = |title: &str, cells: [String; 4]| {
            println!("{title:<18}{}", cells.map(|cell| format!("{cell:>15}")).concat());
        };
        print("lies found by", TITLES.map(String::from));
        for (title, counts) in &self.rows {
            print(title, counts.map(|count| count.to_string()));
            // Readers would notice if the guard forwarded messages unchanged.
            assert!(counts[1] > 0, "{title}: nothing");
        }
        let [all, ..] = self.rows[0].1;
        println!(
            "{} of {all} messages pass with something honest in the place of the lie",
            self.honest
        );
        // Those that don't pass would be refused regardless of the lie.
        assert!(3 * self.honest > all, "too few messages depend on the lie");
    }
}
