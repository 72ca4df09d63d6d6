//! Functions of arrays and maps. Read [`call`] first.

use arrow_schema::DataType;

use super::args::{Args, CallResult};
use super::library;
use super::typed::TypedExpr;
use crate::evaluate::nested::{ArrayAccess, count, item, map_types, value};

pub(crate) fn call(args: &Args<'_>) -> Option<CallResult> {
    let found = match args.name {
        "size" | "cardinality" | "array_size" => args.count(1).and_then(|()| {
            let arg = args.get(0)?;
            match arg.data_type {
                DataType::List(_) | DataType::Map(_, _) => {
                    Ok(TypedExpr { expr: count(arg.expr.clone()), data_type: DataType::Int32 })
                }
                _ => Err(format!("{} is about arrays and maps", args.name)),
            }
        }),
        "get" | "element_at" | "try_element_at" => args.count(2).and_then(|()| {
            let arg = args.get(0)?;
            let access = match args.name {
                "get" => ArrayAccess::Get,
                "element_at" => ArrayAccess::ElementAt,
                _ => ArrayAccess::TryElementAt,
            };
            match (&arg.data_type, map_types(&arg.data_type)) {
                (DataType::List(element), _) => {
                    let expr = item(arg.expr.clone(), args.int(1)?, access, element.data_type());
                    Ok(TypedExpr { expr, data_type: element.data_type().clone() })
                }
                (_, Some((key, held))) if args.name != "get" => {
                    let expr = value(arg.expr.clone(), args.cast(1, key)?, held);
                    Ok(TypedExpr { expr, data_type: held.clone() })
                }
                _ => Err(format!("{} is about arrays and maps", args.name)),
            }
        }),
        "map_contains_key" => args.count(2).and_then(|()| {
            let (key, _) = map_types(args.data_type(0)?).ok_or("map_contains_key is about maps")?;
            let keys = library::call(Args { name: "map_keys", list: vec![args.get(0)?.clone()] })?;
            let key = TypedExpr { expr: args.cast(1, key)?, data_type: key.clone() };
            library::call(Args { name: "array_contains", list: vec![keys, key] })
        }),
        _ => return None,
    };
    Some(found)
}
