//! A device's energy, as a model.

use super::link::CYCLES;
use super::report::Report;
use super::suite_tables::ratio;
use super::suites::{BASELINE, METRICS, Suite};
use super::sweep;
use crate::numbers::fixed;
use crate::radio::{RECEIVED_BIT_NJ, SENT_BIT_NJ};
use crate::table::{Row, Table, cells};

/// The energy of a processor's cycle, in picojoules: 19.5 µA/MHz at 3.3 V (STMicroelectronics, STM32U575/585, a Cortex-M33:
/// Run mode, among the features of its data sheet).
const CYCLE_PJ: f64 = 19.5 * 3.3;
/// That of an instruction.
const INSTRUCTION_PJ: f64 = CYCLE_PJ * CYCLES;

/// Returns the energy of a client in a whole handshake, in millijoules: of the processor, and of the radio.
fn of(suite: &Suite) -> [f64; 2] {
    let bits = |bytes: u32| f64::from(bytes) * 8.0;
    let radio = bits(suite.client.sent) * SENT_BIT_NJ + bits(suite.server.sent) * RECEIVED_BIT_NJ;
    [suite.explicit.instructions as f64 * INSTRUCTION_PJ / 1e9, radio / 1e6]
}

/// The energy of some suites.
pub(super) fn table(report: &Report) -> Table {
    let Some(base) = report.suite(BASELINE) else { return Table::default() };
    let suites = [base].into_iter().chain(sweep::measured(report));
    let rows = suites.map(|suite| {
        let ([processor, radio], of_base) = (of(suite), of(base));
        let all = ratio(processor + radio, of_base.iter().sum());
        let cells = cells![
            fixed(processor, 2),
            ratio(processor, of_base[0]),
            fixed(radio, 2),
            ratio(radio, of_base[1]),
            all
        ];
        Row::new(suite.name().row(), cells)
    });
    let columns = "processor, mJ | of X25519 | radio, mJ | of X25519, radio | of X25519, together";
    Table::new("a client's energy, modelled", &format!("key exchange | CA | leaf | mode || {columns}"))
        .note(format!(
            "A model, and no measurement; only ratios are to be read. Of a client in a whole handshake ({}). An instruction takes \
             {INSTRUCTION_PJ:.0} pJ: 19.5 µA/MHz at 3.3 V (STM32U575/585, a Cortex-M33, Run mode) with {CYCLES} cycles, the \
             best case: at full speed a cycle takes about twice as much. The radio takes \
             {SENT_BIT_NJ:.1} nJ for a bit that it sends and {RECEIVED_BIT_NJ:.1} nJ for one that it receives (nRF52840, IEEE \
             802.15.4, 250 kbit/s): no headers below TLS, no listening, no sleep. A radio of a longer range takes more for a bit, \
             and the ratio together then approaches that of the radio.",
            METRICS[1]
        ))
        .rows(rows)
}
