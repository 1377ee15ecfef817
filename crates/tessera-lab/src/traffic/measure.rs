//! Recording the flows of one link and one padding: the options take turns.

use std::num::NonZeroU16;

use tessera_link::LinkParameters;
use tessera_reports::{Letter, Store, Suite, Variant};

use super::random::Random;
use super::registration::registration;
use super::report::Flow;
use super::stage::Stage;
use crate::error::LabError;
use crate::experiment::Screen;
use crate::variants;

/// Connections of each variant before the first that counts: caches are cold, and TCP knows nothing of the
/// link.
const WARM_UP: usize = 1;

impl Stage {
    /// Records this many flows of each option. Its variants share them evenly.
    pub(super) fn cell(
        &mut self,
        padding: Option<NonZeroU16>,
        parameters: &LinkParameters,
        repetitions: usize,
        screen: &Screen,
    ) -> Result<Vec<Flow>, LabError> {
        // Steps that are not recorded use a link without delay.
        self.set_link(&LinkParameters::default())?;
        let mut options = Vec::new();
        for option in Letter::ALL {
            let variants: Vec<_> = variants().filter(|variant| variant.option == option).collect();
            let sessions = repetitions.div_ceil(variants.len().max(1)) + WARM_UP;
            let ready =
                variants.into_iter().map(|variant| self.prepare(variant, padding, sessions));
            options.push((option, ready.collect::<Result<Vec<_>, _>>()?));
        }
        self.set_link(parameters)?;
        let mut random = Random::new(parameters.seed);
        for ready in options.iter_mut().flat_map(|(_, ready)| ready) {
            for _ in 0..WARM_UP {
                self.record(ready, &registration(&mut random))?;
            }
        }
        let mut flows = Vec::with_capacity(repetitions * options.len());
        for repetition in 0..repetitions {
            random.shuffle(&mut options);
            for (option, ready) in &mut options {
                screen.now(option.letter());
                let count = ready.len().max(1);
                if let Some(ready) = ready.get_mut(repetition % count) {
                    flows.push(self.record(ready, &registration(&mut random))?);
                }
                screen.advance();
            }
        }
        Ok(flows)
    }
}

/// Returns the variants to record: the paper's suite, and a store that adds no time.
fn variants() -> impl Iterator<Item = Variant> {
    let (suite, store) = (Suite::default(), Store::default());
    variants::all()
        .into_iter()
        .filter(move |variant| variant.suite == suite && variant.store == store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_variants_to_record() {
        let count = |option| variants().filter(|variant| variant.option == option).count();
        assert_eq!(Letter::ALL.map(count), [2, 1, 2, 2, 2, 6]);
    }
}
