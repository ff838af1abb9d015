import { testTables } from './tables.ts';

testTables(2);
