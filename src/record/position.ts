/**
 * Where in a key's log. Opaque outside a backend; positions of one key sort as strings in log order, across epochs too (ING-107):
 * callers compare, they never compute.
 */
export type Position = string & { readonly __position: unique symbol };
