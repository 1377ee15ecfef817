//! `tessera sepp`, as its users start it.
#![cfg(feature = "sepp")]

mod broken;
mod demo;
mod relay;
mod reload;
mod world;
