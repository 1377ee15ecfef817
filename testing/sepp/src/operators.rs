//! The names of the operators' SEPPs.

/// The home network's SEPP, with all its instances.
pub const HOME: &str = "sepp1.5gc.mnc070.mcc999.3gppnetwork.org";

/// The visited network's.
pub const VISITED: &str = "sepp2.5gc.mnc001.mcc001.3gppnetwork.org";

/// A third operator's, which the home network knows.
pub const THIRD: &str = "sepp3.5gc.mnc003.mcc001.3gppnetwork.org";
