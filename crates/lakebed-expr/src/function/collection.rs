//! Functions about arrays and maps. Read [`call`] first.

use arrow_schema::DataType;

use super::args::{Args, Call};
use super::library;
use super::typed::Typed;
use crate::evaluate::nested::{Reach, count, item, map_types, value};

pub(crate) fn call(args: &Args<'_>) -> Option<Call> {
    let found = match args.name {
        "size" | "cardinality" | "array_size" => args.count(1).and_then(|()| {
            let arg = args.get(0)?;
            match arg.data_type {
                DataType::List(_) | DataType::Map(_, _) => {
                    Ok(Typed { expr: count(arg.expr.clone()), data_type: DataType::Int32 })
                }
                _ => Err(format!("{} is about arrays and maps", args.name)),
            }
        }),
        "get" | "element_at" | "try_element_at" => args.count(2).and_then(|()| {
            let arg = args.get(0)?;
            let reach = match args.name {
                "get" => Reach::Get,
                "element_at" => Reach::ElementAt,
                _ => Reach::TryElementAt,
            };
            match (&arg.data_type, map_types(&arg.data_type)) {
                (DataType::List(element), _) => {
                    let expr = item(arg.expr.clone(), args.int(1)?, reach, element.data_type());
                    Ok(Typed { expr, data_type: element.data_type().clone() })
                }
                (_, Some((key, held))) if args.name != "get" => {
                    let expr = value(arg.expr.clone(), args.cast(1, key)?, held);
                    Ok(Typed { expr, data_type: held.clone() })
                }
                _ => Err(format!("{} is about arrays and maps", args.name)),
            }
        }),
        "map_contains_key" => args.count(2).and_then(|()| {
            let (key, _) = map_types(args.data_type(0)?).ok_or("map_contains_key is about maps")?;
            let keys = library::call(Args { name: "map_keys", list: vec![args.get(0)?.clone()] })?;
            let key = Typed { expr: args.cast(1, key)?, data_type: key.clone() };
            library::call(Args { name: "array_contains", list: vec![keys, key] })
        }),
        _ => return None,
    };
    Some(found)
}
