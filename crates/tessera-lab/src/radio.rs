//! The radio of models of a device's energy.

/// The energy of a device per bit that its radio sends, and receives, in nanojoules: 6.40 mA and 6.53 mA at 3 V and 250
/// kbit/s (Nordic Semiconductor, nRF52840 Product Specification, "Current consumption", "Radio transmitting/receiving":
/// IRADIO_TX5, 0 dBm, and IRADIO_RX2, both IEEE 802.15.4-2006 at 250 kbit/s with HFXO and DC/DC).
pub(crate) const SENT_BIT_NJ: f64 = 6.40 * 3.0 / 250e3 * 1e6;
pub(crate) const RECEIVED_BIT_NJ: f64 = 6.53 * 3.0 / 250e3 * 1e6;
