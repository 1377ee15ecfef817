//! `tessera tunnel`, as its users start it.
#![cfg(feature = "tunnel")]

mod broken;
mod container;
mod demo;
mod ends;
mod page;
mod reload;
mod restart;
