//! Enumerations that later releases and vendors extend: TS 29.501 §5.3.9 has any string in them, so no value is an
//! error.

/// An enumeration whose values are strings, with `Other` for unknown ones.
macro_rules! extensible {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$value_doc])* #[doc = concat!("`", $text, "`")] $value,)+
            /// A value of a later release or of a vendor, shortened for logs and answers.
            Other(Box<str>),
        }

        impl $name {
            /// Returns it as in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$value => $text,)+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$value,)+
                    other => Self::Other($crate::n32c::messages::shortened::shortened(other).into()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                Ok(Self::from(&*text))
            }
        }
    };
}

pub(super) use extensible;
