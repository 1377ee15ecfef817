//! `tessera lab` as users start it, and the results made from its reports.

mod bithac;
mod dtls;
mod edge;
mod embedded;
mod load;
mod page;
mod reconnect;
mod results;
mod results_script;
mod roaming;
mod roaming_interrupted;
mod roaming_sepps;
mod sites;
mod traffic;
