//! How well flows reveal the options, and the cost of padding: computed from the flows alone.

use tessera_reports::Letter;

use super::features;
use super::random::Random;
use super::report::{Confusion, ConfusionTable, Features, Flow, PaddingCost};
use super::tree::{Example, Question, Tree};
use crate::statistics::Median;

/// In how many parts the flows are cut, if there are enough.
pub(crate) const FOLDS: usize = 10;

/// Classifies the options in each setting, with each choice of features.
pub(crate) fn confusion(flows: &[Flow], seed: u64) -> Confusion {
    let settings = settings(flows);
    let folds = settings.iter().map(|setting| folds(&setting.flows)).min().unwrap_or(FOLDS);
    let tables = settings
        .iter()
        .flat_map(|setting| Features::ALL.map(|features| setting.table(features, folds, seed)));
    Confusion { folds, tables: tables.collect() }
}

/// Returns the cost of each option in each setting.
pub(crate) fn costs(flows: &[Flow]) -> Vec<PaddingCost> {
    let costs = settings(flows).into_iter().flat_map(|setting| {
        let options = options(&setting.flows);
        options.into_iter().map(move |option| {
            let of_option = || setting.flows.iter().filter(|flow| flow.variant.option == option);
            let median = |value: fn(&Flow) -> f64| {
                Median::of(of_option().map(|flow| value(flow))).map_or(0.0, |median| median.value)
            };
            PaddingCost {
                option,
                rtt_ms: setting.rtt_ms,
                padding: setting.padding,
                client_bytes: median(|flow| flow.bytes()[0] as f64),
                server_bytes: median(|flow| flow.bytes()[1] as f64),
                duration_us: median(|flow| flow.duration_us() as f64),
            }
        })
    });
    costs.collect()
}

/// The flows of one link and one padding.
struct Setting<'a> {
    rtt_ms: f64,
    padding: Option<u16>,
    flows: Vec<&'a Flow>,
}

/// In the order of the first flow of each.
fn settings(flows: &[Flow]) -> Vec<Setting<'_>> {
    let mut settings: Vec<Setting<'_>> = Vec::new();
    for flow in flows {
        let same = |setting: &&mut Setting<'_>| {
            setting.rtt_ms == flow.rtt_ms && setting.padding == flow.padding
        };
        match settings.iter_mut().find(same) {
            Some(setting) => setting.flows.push(flow),
            None => settings.push(Setting {
                rtt_ms: flow.rtt_ms,
                padding: flow.padding,
                flows: vec![flow],
            }),
        }
    }
    settings
}

/// Returns the options that are there.
fn options(flows: &[&Flow]) -> Vec<Letter> {
    let there = |option: &Letter| flows.iter().any(|flow| flow.variant.option == *option);
    Letter::ALL.into_iter().filter(there).collect()
}

/// As many parts as there are flows of the rarest option, so that each part has one; two at least.
fn folds(flows: &[&Flow]) -> usize {
    let count = |option: Letter| flows.iter().filter(|flow| flow.variant.option == option).count();
    let rarest = options(flows).into_iter().map(count).min().unwrap_or(FOLDS);
    rarest.clamp(2, FOLDS)
}

impl Setting<'_> {
    /// Cross-validates trees (Stone, 1974): each flow is classified by a tree that was not trained on it.
    fn table(&self, features: Features, folds: usize, seed: u64) -> ConfusionTable {
        let options = options(&self.flows);
        let class = |flow: &Flow| options.iter().position(|option| *option == flow.variant.option);
        let examples: Vec<_> = self
            .flows
            .iter()
            .filter_map(|flow| {
                let numbers = features::of(flow, features).into_iter().map(|(_, number)| number);
                Some(Example { numbers: numbers.collect(), class: class(flow)? })
            })
            .collect();
        let fold_of = deal(&examples, options.len(), folds, seed);
        let mut matrix = vec![vec![0; options.len()]; options.len()];
        for fold in 0..folds {
            let of_fold = |wanted: bool| {
                let dealt = examples.iter().zip(&fold_of);
                dealt.filter(move |(_, of)| (**of == fold) == wanted).map(|(example, _)| example)
            };
            let tree = Tree::grow(&of_fold(false).collect::<Vec<_>>(), options.len());
            for example in of_fold(true) {
                matrix[example.class][tree.classify(&example.numbers)] += 1;
            }
        }
        let right: usize = (0..options.len()).map(|class| matrix[class][class]).sum();
        let all = examples.len();
        let most = matrix.iter().map(|row| row.iter().sum()).max().unwrap_or(0);
        let tree = Tree::grow(&examples.iter().collect::<Vec<_>>(), options.len());
        ConfusionTable {
            rtt_ms: self.rtt_ms,
            padding: self.padding,
            features,
            accuracy: share(right, all),
            interval: wilson(right, all),
            chance: share(most, all),
            first_question: tree.first_question().and_then(|asks| self.words(features, asks)),
            options,
            matrix,
        }
    }

    /// Formats a question.
    fn words(&self, features: Features, asks: Question) -> Option<String> {
        let (name, _) = features::of(self.flows.first()?, features).swap_remove(asks.number);
        Some(format!("{name} > {}", asks.above))
    }
}

/// Assigns each example to a fold: those of one class are distributed evenly, in an order that depends on the seed.
fn deal(examples: &[Example], classes: usize, folds: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut fold_of = vec![0; examples.len()];
    let mut dealt = 0;
    for class in 0..classes {
        let of_class = |index: &usize| examples[*index].class == class;
        let mut indices: Vec<_> = (0..examples.len()).filter(of_class).collect();
        random.shuffle(&mut indices);
        for index in indices {
            fold_of[index] = dealt % folds;
            dealt += 1;
        }
    }
    fold_of
}

fn share(part: usize, all: usize) -> f64 {
    part as f64 / all.max(1) as f64
}

/// Returns the 95 % confidence interval of a share (Wilson, 1927): it stays within 0 and 1, also for few flows.
fn wilson(part: usize, all: usize) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    if all == 0 {
        return (0.0, 1.0);
    }
    let (share, all) = (share(part, all), all as f64);
    let z2 = Z * Z;
    let middle = (share + z2 / (2.0 * all)) / (1.0 + z2 / all);
    let around =
        Z / (1.0 + z2 / all) * (share * (1.0 - share) / all + z2 / (4.0 * all * all)).sqrt();
    ((middle - around).max(0.0), (middle + around).min(1.0))
}

#[cfg(test)]
mod tests;
